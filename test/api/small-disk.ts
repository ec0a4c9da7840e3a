import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type NodeTransport, nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import type { UploadTarget } from '../../protocol/api/publish.ts'
import { tar } from '../archive/tar-file.ts'
import { type HttpResponse, sendRequest } from '../support/http-client.ts'
import { toTarget } from './api.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')

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

  put({ url, headers }: UploadTarget, body: Buffer): Promise<HttpResponse> {
    return sendRequest(this.#port, { method: 'PUT', path: toTarget(url), headers, body })
  }

  /** Publishes an archive with one file. */
  archive(bytes: Buffer): Promise<HttpResponse> {
    const headers = { 'content-type': 'application/x-tar' }
    const body = tar([{ name: 'large.bin', data: bytes }])
    return sendRequest(this.#port, { method: 'POST', path: '/api/v1/publish', headers, body })
  }

  visit(url: string): Promise<HttpResponse> {
    return sendRequest(this.#port, { headers: { host: new URL(url).host } })
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
}
