// Lets the search run on pages that were opened from disk, where browsers refuse to
// start a worker: its script runs in a hidden frame instead, and messages pass between
// the two. Does only what the search of this site needs of a Worker.
if (location.protocol === "file:") {
  // The script looks for the first name in its parent.
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.ready = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow
          inside.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }))
          const script = inside.document.createElement("script")
          script.src = url
          script.onload = () => resolve(inside)
          inside.document.body.append(script)
        }
      })
      document.body.append(frame)
    }

    postMessage(data) {
      this.ready.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      )
    }
  }
}
