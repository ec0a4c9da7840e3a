import { addAbortListener, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Component } from '../../lib/component.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import type { Refusal, ScannedFile, Scanner } from './content-scan.ts'

export type ClamdAddress = { path: string } | { host: string; port: number }

const MAX_CHUNK_BYTES = 64 * 1024
const MAX_REPLY_BYTES = 4096
const END = Buffer.alloc(4)

/** INSTREAM of clamd(8): each file is sent over a connection of its own. */
export class ClamdScanner extends Component<ClamdAddress> implements Scanner {
  readonly name = 'clamd'

  identify({ hash }: Pick<ScannedFile, 'hash'>): string {
    return hash
  }

  async scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined> {
    for (const file of files) {
      const reply = await this.#send(file, signal)
      const found = /^stream: (.+) FOUND$/.exec(reply)
      if (found) return { path: file.path, reason: toPlainLine(found[1]!, 200) }
      if (reply !== 'stream: OK') throw new Error(`clamd answered: ${toPlainLine(reply, 200)}`)
    }
    return undefined
  }

  async #send(file: ScannedFile, signal: AbortSignal): Promise<string> {
    using connection = new ClamdConnection(this.parts, signal)
    const body = await file.open()
    try {
      await connection.write(Buffer.from('zINSTREAM\0'))
      for await (const bytes of body as AsyncIterable<Buffer>)
        for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES)
          await connection.writeChunk(bytes.subarray(at, at + MAX_CHUNK_BYTES))
      await connection.write(END)
      return await connection.reply
    } finally {
      body.destroy()
    }
  }
}

class ClamdConnection implements Disposable {
  readonly reply: Promise<string>
  readonly #socket: Socket
  readonly #listener: Disposable

  constructor(address: ClamdAddress, signal: AbortSignal) {
    this.#socket = connect(address)
    this.#listener = addAbortListener(signal, () =>
      this.#socket.destroy(new Error('clamd did not answer in time')),
    )
    this.reply = readReply(this.#socket)
    // A failed write has the same cause.
    this.reply.catch(() => undefined)
  }

  async writeChunk(bytes: Buffer): Promise<void> {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    await this.write(Buffer.concat([length, bytes]))
  }

  /** Waits for a slow peer. A peer that has answered reads nothing more: its answer is the outcome. */
  async write(bytes: Buffer): Promise<void> {
    if (this.#socket.destroyed) await this.reply
    else if (!this.#socket.write(bytes)) await Promise.race([once(this.#socket, 'drain'), this.reply])
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]()
    this.#socket.destroy()
  }
}

/** Ends with a NUL, as the command began with `z`. */
async function readReply(socket: Socket): Promise<string> {
  let reply = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    reply += chunk.toString()
    if (reply.length > MAX_REPLY_BYTES) throw new Error('clamd answered with more than 4 kB')
    const end = reply.indexOf('\0')
    if (end >= 0) return reply.slice(0, end)
  }
  throw new Error('clamd closed the connection without an answer')
}
