import { closeSync, openSync, readSync } from 'node:fs'
import { scan } from './secret-rules.ts'
import type { FileContents } from './secret-scan.ts'

// A separate program, run by secret-scan.ts, so that no file delays requests. Only digests of secrets leave it.

process.on('message', (batch: readonly FileContents[]) => {
  process.send!(batch.map((contents) => scan(() => readContents(contents))))
})

function readContents(contents: FileContents): Buffer {
  if (contents instanceof Uint8Array)
    return Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength)
  const { path, offset, size } = contents
  const bytes = Buffer.allocUnsafe(size)
  const file = openSync(path, 'r')
  try {
    for (let at = 0; at < size; ) {
      const count = readSync(file, bytes, at, size - at, offset + at)
      if (count === 0) throw new Error('The file is shorter than its content')
      at += count
    }
    return bytes
  } finally {
    closeSync(file)
  }
}
