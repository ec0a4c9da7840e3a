import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type NodeTransport, nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import type { UploadTarget } from '../../protocol/api/publish.ts'
import { toTarget } from './api.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')

interface Reply {
  status: number
  headers: Record<string, unknown>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check its fields
  json: any
}

/**
 * A service whose files cannot grow beyond a size, which has the effect of a full disk for a program
 * (`ulimit -f`, and EFBIG in place of ENOSPC).
 */
export class ServiceOnSmallDisk implements AsyncDisposable {
  readonly client: Slipway
  readonly #process: ChildProcess
  readonly #data: string
  readonly #port: number
  readonly #transport: NodeTransport

  static async start(bytes: number): Promise<ServiceOnSmallDisk> {
    const data = await mkdtemp(join(tmpdir(), 'slipway-small-'))
    const limited = `ulimit -f ${bytes / 1024}; exec "$0" "$@"`
    const child = spawn('bash', ['-c', limited, process.execPath, MAIN], {
      env: {
        PATH: process.env.PATH,
        SLIPWAY_DATA: data,
        SLIPWAY_PORT: '0',
        SLIPWAY_RATE_ANONYMOUS: '1000',
        SLIPWAY_DISK_RESERVE: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout! })) {
      const [, baseUrl] = /runs at (http:\S+)/.exec(line) ?? []
      if (baseUrl) return new ServiceOnSmallDisk(child, data, baseUrl)
    }
    throw new Error('the service did not start')
  }

  private constructor(child: ChildProcess, data: string, baseUrl: string) {
    child.stdout!.resume()
    this.#process = child
    this.#data = data
    this.#port = Number(new URL(baseUrl).port)
    this.#transport = nodeTransport()
    this.client = new Slipway({ baseUrl, send: this.#transport.send })
  }

  put({ url, headers }: UploadTarget, body: Buffer): Promise<Reply> {
    return this.#request('PUT', toTarget(url), headers, body)
  }

  /** Publishes an archive with one file. */
  async archive(bytes: Buffer): Promise<Reply> {
    const { pack } = await import('tar-stream')
    const tar = pack()
    tar.entry({ name: 'large.bin' }, bytes)
    tar.finalize()
    const body = Buffer.concat(await Array.fromAsync(tar as AsyncIterable<Buffer>))
    return this.#request('POST', '/api/v1/publish', { 'content-type': 'application/x-tar' }, body)
  }

  visit(url: string): Promise<Reply> {
    return this.#request('GET', '/', { host: new URL(url).host })
  }

  /** Names of the staged files of pending versions. */
  async staged(): Promise<string[]> {
    const folder = join(this.#data, 'blobs', 'staged')
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport.close()
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
    await rm(this.#data, { recursive: true })
  }

  #request(method: string, path: string, headers: Record<string, string>, body?: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, method, path, headers, agent: false }
      const outgoing = request(options, async (answer) => {
        const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString()
        const isJson = /json/.test(answer.headers['content-type'] ?? '')
        const json = isJson ? JSON.parse(text) : undefined
        resolve({ status: answer.statusCode!, headers: answer.headers, text, json })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
}
