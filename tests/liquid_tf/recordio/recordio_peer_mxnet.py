"""MXNet's view of RecordIO files: run by an interpreter that has it.

Reads one JSON object on stdin and writes one on stdout:
  {path, index, unpack}: {records, keyed {key: record}}, as hexadecimal SHA-256, and
    with unpack {headers}.
  {path, index or null, parts, label_width}: {labels}, of each part, in the order of
    ImageRecordIter.
  {write, index, payloads}: writes these, hexadecimal, with keys 0, 1, 2, …
"""

import hashlib
import json
import sys

import mxnet as mx


def sha(data):
  return hashlib.sha256(data).hexdigest()


def read(path, index, unpack):
  records, headers = [], []
  reader = mx.recordio.MXRecordIO(path, "r")
  while (record := reader.read()) is not None:
    records.append(sha(record))
    if unpack:
      header, data = mx.recordio.unpack(record)
      label = header.label if header.flag == 0 else header.label.tolist()
      headers.append([header.flag, label, header.id, header.id2, sha(data)])
  keyed = mx.recordio.MXIndexedRecordIO(index, path, "r")
  found = {str(key): sha(keyed.read_idx(key)) for key in keyed.keys}
  return {"records": records, "keyed": found, "headers": headers}


def labels(path, index, parts, label_width):
  found = []
  for part in range(parts):
    options = {"path_imgidx": index} if index else {}
    batches = mx.io.ImageRecordIter(
      path_imgrec=path,
      data_shape=(3, 32, 32),
      batch_size=1,
      label_width=label_width,
      num_parts=parts,
      part_index=part,
      preprocess_threads=1,
      verbose=False,
      **options,
    )
    found.append([batch.label[0].asnumpy().ravel().tolist() for batch in batches])
  return {"labels": found}


def write(path, index, payloads):
  writer = mx.recordio.MXIndexedRecordIO(index, path, "w")
  for key, payload in enumerate(payloads):
    writer.write_idx(key, bytes.fromhex(payload))
  writer.close()
  return {}


def main(request):
  if "write" in request:
    return write(request["write"], request["index"], request["payloads"])
  if "parts" in request:
    return labels(**request)
  return read(**request)


if __name__ == "__main__":
  print(json.dumps(main(json.loads(sys.stdin.read()))), flush=True)
