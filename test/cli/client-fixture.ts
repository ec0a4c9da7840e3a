import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { type PublishFile, type PublishOptions, type Send, Slipway } from '../../client/sdk/slipway.ts'
import { sha256 } from '../api/content.ts'
import { recordPauses } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

export function file(path: string, content: string | Buffer, open?: PublishFile['open']): PublishFile {
  const bytes = Buffer.from(content as string)
  const hash = sha256(bytes)
  return { path, size: bytes.length, contentType: 'text/plain', hash, open: open ?? (() => bytes) }
}

/** Streams the bytes in chunks of `chunk` bytes. */
export async function* stream(bytes: Buffer, chunk = 64 * 1024): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}

interface ClientFixtureOptions {
  send?: Send | undefined
  /** Maximum number of attempts for one upload. */
  tries?: number
}

/** An SDK client of a fake server; its pauses are recorded and take no time. */
export async function startClientFixture({ send, tries: maxAttempts }: ClientFixtureOptions = {}) {
  const server = await FakeServer.start()
  const transport = nodeTransport()
  const pauses: number[] = []
  const clock = { now: Date.parse('2030-01-01') }
  const slipway = new Slipway({
    baseUrl: server.url,
    send: send ?? transport.send,
    retryPolicy: {
      ...recordPauses(pauses),
      random: () => 1,
      now: () => clock.now,
      ...(maxAttempts !== undefined && { maxAttempts }),
    },
  })
  return {
    server,
    slipway,
    pauses,
    clock,
    publish: (options: Partial<PublishOptions>) => slipway.publish({ files: [], concurrency: 4, ...options }),
    async [Symbol.asyncDispose]() {
      transport.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** Loses received files of the first site, as if they had not been uploaded. */
export function forget({ sites }: FakeServer, ...paths: string[]): undefined {
  for (const { arrived } of sites.get('site-1')!.versions.values()) {
    for (const path of paths) arrived.delete(path)
  }
}
