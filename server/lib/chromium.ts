import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { killGroup, OUTPUT_DRAIN_MS } from './hook-process.ts'
import { toPlainLine } from './plain-line.ts'

export interface ChromiumProgram {
  chromium: string
  chromiumSandbox: 'on' | 'off'
}

/** Chromium ends before it opens a page, whatever the page is. */
export class ChromiumStartError extends Error {}

/** For each of its processes: 1 GiB of data, and 256 MiB of a file. Everything that visitors wait for has priority. */
const LIMITED = 'ulimit -d 1048576 && ulimit -f 524288 && exec nice -n 10 "$0" "$@"'

/** Bytes of messages from the browser, which a page can make it send. */
const MAX_RECEIVED_BYTES = 8 * 2 ** 20

const MAX_OUTPUT_BYTES = 4096
const MAX_REASON_CHARACTERS = 300

const FLAGS = [
  // No host has an address, whatever connects: the proxy neither.
  ...['--proxy-server=http://nowhere.invalid:9', '--proxy-bypass-list=<-loopback>'],
  ...['--host-resolver-rules=MAP * ~NOTFOUND', '--disable-quic', '--disable-features=HttpsUpgrades'],
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  ...['--headless', '--remote-debugging-pipe', '--no-first-run', '--disable-breakpad', '--disable-gpu'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-extensions'],
  // A page that opens others would have the memory of each.
  '--block-new-web-contents',
  ...['--disable-sync', '--mute-audio', '--hide-scrollbars', '--disable-dev-shm-usage'],
]

const SANDBOX_ADVICE =
  ' The sandbox needs another user than root and user namespaces: without them, set SLIPWAY_CHROMIUM_SANDBOX=off'

/** Followed by the id of the process that has started the browser. Containers that share /tmp have other host names. */
export const FOLDER_PREFIX = `slipway-chromium-${hostname()}-`

/** Of the browsers of this process: after a restart in a container, its id is that of the process before. */
const openFolders = new Set<string>()

/** Deletes the files of browsers whose process was killed. Those of other users stay. */
export async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue
    const [, pid] = /^(\d+)-/.exec(name.slice(FOLDER_PREFIX.length)) ?? []
    const folder = join(tmpdir(), name)
    if (pid === undefined || openFolders.has(folder)) continue
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory() && found.uid === process.getuid!())
      await rm(folder, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * One page of a headless Chromium without a network. It is driven by the DevTools protocol over a pipe; events are emitted
 * by their names. All calls reject once the browser ends, or with the reason of the signal. Its files are deleted with it.
 */
export class Chromium extends EventEmitter implements AsyncDisposable {
  /** Of the page and its main frame. */
  targetId = ''
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #closed = Promise.withResolvers<void>()
  readonly #failed = Promise.withResolvers<never>()
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #failure: Error | undefined
  #sessionId: string | undefined
  #calls = 0
  #receivedBytes = 0
  #partial: Buffer[] = []

  /** Rejects with ChromiumStartError when the program cannot be used. */
  static async open(program: ChromiumProgram, signal: AbortSignal): Promise<Chromium> {
    const folder = await mkdtemp(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`))
    openFolders.add(folder)
    const chromium = new Chromium(program, folder)
    signal.addEventListener('abort', () => chromium.end(signal.reason), { once: true })
    if (signal.aborted) chromium.end(signal.reason)
    try {
      await chromium.#openPage()
      return chromium
    } catch (error) {
      await chromium[Symbol.asyncDispose]()
      const { message, name } = error as Error
      if (signal.aborted && name !== 'TimeoutError') throw error
      const advice = program.chromiumSandbox === 'on' && /sandbox/i.test(message) ? SANDBOX_ADVICE : ''
      throw new ChromiumStartError(`${program.chromium}: ${message}${advice}`)
    }
  }

  private constructor({ chromium, chromiumSandbox }: ChromiumProgram, folder: string) {
    super()
    this.#folder = folder
    this.#failed.promise.catch(() => undefined)
    const ownFlags = [`--user-data-dir=${folder}`, ...(chromiumSandbox === 'on' ? [] : ['--no-sandbox'])]
    this.#child = spawn('/bin/sh', ['-c', LIMITED, chromium, ...FLAGS, ...ownFlags], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
      // None of the service's own, which holds secrets.
      env: { HOME: folder, TMPDIR: folder, DBUS_SESSION_BUS_ADDRESS: 'disabled:' },
    })
    this.#watch()
  }

  /** Rejects when the browser ends. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  /** Calls a method, of the page once it is open. */
  send<Result>(method: string, params: object = {}): Promise<Result> {
    if (this.#failure) return Promise.reject(this.#failure)
    const call = Promise.withResolvers<unknown>()
    const id = ++this.#calls
    this.#pending.set(id, call)
    if (this.#child.pid !== undefined)
      this.#stream(3).write(`${JSON.stringify({ id, method, params, sessionId: this.#sessionId })}\0`)
    return call.promise as Promise<Result>
  }

  /** Ends the browser. The first reason counts. */
  end(reason: Error): void {
    if (this.#failure) return
    this.#failure = reason
    for (const call of this.#pending.values()) call.reject(reason)
    this.#failed.reject(reason)
    killGroup(this.#child, 'SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end(new Error('the browser was closed'))
    await this.#closed.promise
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
    openFolders.delete(this.#folder)
  }

  /** In a browser context of its own, which is kept in memory. */
  async #openPage(): Promise<void> {
    const context = await this.send<{ browserContextId: string }>('Target.createBrowserContext')
    await this.send('Browser.setDownloadBehavior', { ...context, behavior: 'deny' })
    const options = { ...context, url: 'about:blank' }
    const { targetId } = await this.send<{ targetId: string }>('Target.createTarget', options)
    const session = { targetId, flatten: true }
    this.#sessionId = (await this.send<{ sessionId: string }>('Target.attachToTarget', session)).sessionId
    this.targetId = targetId
  }

  #stream(fd: 2 | 3 | 4): Duplex {
    return this.#child.stdio[fd] as Duplex
  }

  #watch(): void {
    let output = Buffer.alloc(0)
    const onEnd = (reason: Error) => {
      this.end(reason)
      this.#closed.resolve()
    }
    this.#child.once('error', onEnd)
    this.#child.once('close', (code, signal) => onEnd(describeExit(code ?? signal, output.toString())))
    // It may have no streams either, as when no file descriptor is left.
    if (this.#child.pid === undefined) return
    this.#stream(2).on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk]).subarray(-MAX_OUTPUT_BYTES)
    })
    this.#stream(4).on('data', (chunk: Buffer) => this.#receive(chunk))
    // The end of the process says why.
    for (const fd of [2, 3, 4] as const) this.#stream(fd).on('error', () => undefined)
    // Its other processes may hold the pipes open.
    this.#child.once('exit', () => {
      killGroup(this.#child, 'SIGKILL')
      // One may have left the group.
      const last = setTimeout(() => {
        for (const fd of [2, 3, 4] as const) this.#stream(fd).destroy()
      }, OUTPUT_DRAIN_MS)
      this.#child.once('close', () => clearTimeout(last))
    })
  }

  /** Messages end with a null byte. */
  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > MAX_RECEIVED_BYTES) this.end(new Error('the page causes too many messages'))
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0 && !this.#failure; end = chunk.indexOf(0, start)) {
      this.#dispatch(Buffer.concat([...this.#partial.splice(0), chunk.subarray(start, end)]).toString())
      start = end + 1
    }
    this.#partial.push(chunk.subarray(start))
  }

  #dispatch(text: string): void {
    try {
      const { id, method, params, result, error } = JSON.parse(text)
      if (method !== undefined) this.emit(method, params)
      else if (error) this.#pending.get(id)?.reject(new Error(error.message))
      else this.#pending.get(id)?.resolve(result)
      this.#pending.delete(id)
    } catch (error) {
      this.end(error as Error)
    }
  }
}

/** With the last error that it reports, except those about a bus that it does not need. */
function describeExit(how: number | string | null, output: string): Error {
  const line = output.split('\n').findLast((one) => /FATAL|ERROR:(?!dbus)|not found|denied/.test(one))
  const text = line?.replace(/^\[[^\]]*\] ?/, '')
  return new Error(`Chromium ended (${how})${text ? `: ${toPlainLine(text, MAX_REASON_CHARACTERS)}` : ''}`)
}
