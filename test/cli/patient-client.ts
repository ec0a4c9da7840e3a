import { createHash } from 'node:crypto'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { type PublishFile, type PublishOptions, type Send, Slipway } from '../../client/sdk/slipway.ts'
import { FakeServer } from './peer.ts'

/** A file to publish. */
export function file(path: string, content: string | Buffer, open?: PublishFile['open']): PublishFile {
  const bytes = Buffer.from(content as string)
  const hash = createHash('sha256').update(bytes).digest('hex')
  return { path, size: bytes.length, contentType: 'text/plain', hash, open: open ?? (() => bytes) }
}

/** A stream of the bytes, in chunks of this size. */
export async function* stream(bytes: Buffer, chunk = 64 * 1024): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}

interface Wishes {
  send?: Send | undefined
  idleMs?: number
  /** How often an upload is tried. */
  tries?: number
}

/** A client of a peer whose pauses are recorded instead of waited for. */
export async function startPatientClient({ send, idleMs, tries: maxAttempts }: Wishes = {}) {
  const peer = await FakeServer.start()
  const transport = nodeTransport(idleMs === undefined ? {} : { idleMs })
  const pauses: number[] = []
  const clock = { now: Date.parse('2030-01-01') }
  const slipway = new Slipway({
    baseUrl: peer.url,
    send: send ?? transport.send,
    retryPolicy: {
      wait: async (milliseconds, signal) => {
        signal?.throwIfAborted()
        pauses.push(milliseconds)
      },
      random: () => 1,
      now: () => clock.now,
      ...(maxAttempts !== undefined && { maxAttempts }),
    },
  })
  return {
    peer,
    slipway,
    pauses,
    clock,
    publish: (options: Partial<PublishOptions>) => slipway.publish({ files: [], concurrency: 4, ...options }),
    async [Symbol.asyncDispose]() {
      transport.close()
      await peer[Symbol.asyncDispose]()
    },
  }
}

/** The uploads among the calls. */
export const uploads = (peer: FakeServer) => peer.log.filter((line) => line.includes('/_upload/'))
