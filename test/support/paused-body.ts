import { Readable } from 'node:stream'

/** A request body that stops after its first part until `resume` is called. */
export function pausedBody(first: Buffer, rest: Buffer): { body: Readable; resume: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  async function* parts() {
    yield first
    await promise
    yield rest
  }
  return { body: Readable.from(parts(), { objectMode: false }), resume: resolve }
}
