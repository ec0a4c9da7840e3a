import { hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { findSecrets } from './secret-rules.ts'

// Scans texts apart from the event loop that serves requests. Only digests of secrets leave the thread.

parentPort!.on('message', (contents: readonly Uint8Array[]) => {
  parentPort!.postMessage(
    contents.map((bytes) => {
      try {
        const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
        return findSecrets(text).map(({ value, ...found }) => ({ ...found, digest: hash('sha256', value) }))
      } catch {
        return undefined
      }
    }),
  )
})
