"""DALI's view of RecordIO files: run by an interpreter that has it.

Reads {path, index, count, shards} as JSON on stdin, writes {shards: [[SHA-256 of the
image, labels], …] of each}.
"""

import hashlib
import json
import sys

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def records(path, index, shard, shards):
  image, label = fn.readers.mxnet(
    path=[path], index_path=[index], shard_id=shard, num_shards=shards
  )
  return image, label


def main(request):
  shards, count, found = request["shards"], request["count"], []
  for shard in range(shards):
    pipeline = records(request["path"], request["index"], shard, shards)
    pipeline.build()
    begin, end = count * shard // shards, count * (shard + 1) // shards
    found.append([])
    for _ in range(end - begin):
      image, label = pipeline.run()
      data = image.at(0).tobytes()
      found[-1].append([hashlib.sha256(data).hexdigest(), label.at(0).tolist()])
  return {"shards": found}


if __name__ == "__main__":
  print(json.dumps(main(json.loads(sys.stdin.read()))), flush=True)
