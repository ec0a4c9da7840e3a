import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { program } from '../../scripts/program.mjs'

/**
 * Debian's Firefox under WebDriver BiDi (W3C): Playwright needs a build of its own, and sends commands that this one does
 * not have; other clients bring 80 packages. Only the commands that the walk needs.
 */
export class Firefox implements AsyncDisposable {
  /** Errors of scripts, and lines of level `error` in the console. */
  readonly complaints: string[] = []
  readonly #process: ChildProcess
  readonly #profile: string
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #context = ''
  #lastId = 0
  #onLoad = () => {}

  private constructor(process: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = process
    this.#profile = profile
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))))
  }

  /** Starts a headless Firefox with an empty profile, in which every name below localhost is loopback. */
  static async start(): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), 'slipway-firefox-'))
    writeFileSync(
      join(profile, 'user.js'),
      PREFERENCES.map(([name, value]) => `user_pref("${name}", ${value});\n`).join(''),
    )
    const child = spawn(
      program('firefox-esr')!,
      ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: profile } },
    )
    const address = await readAddress(child)
    const socket = new WebSocket(`${address}/session`)
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true })
      socket.addEventListener('error', () => reject(new Error('Firefox does not accept a session')), {
        once: true,
      })
    })
    const firefox = new Firefox(child, profile, socket)
    await firefox.#send('session.new', { capabilities: {} })
    await firefox.#send('session.subscribe', { events: ['log.entryAdded', 'browsingContext.load'] })
    const { context } = await firefox.#send('browsingContext.create', { type: 'tab' })
    firefox.#context = String(context)
    return firefox
  }

  /** Opens a page; resolves when it has loaded. */
  async open(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' })
  }

  /** The value of an expression in the page; waits for a promise. */
  async evaluate(expression: string): Promise<unknown> {
    const target = { context: this.#context }
    const answer = await this.#send('script.evaluate', {
      expression,
      target,
      awaitPromise: true,
      resultOwnership: 'root',
    })
    if (answer.type === 'exception') throw new Error(JSON.stringify(answer.exceptionDetails))
    return answer.result
  }

  /** Waits until the expression is true, after each change of the page, and in the next one after a navigation. */
  async waitFor(expression: string): Promise<void> {
    const watch = `new Promise((resolve) => {
      const check = () => { if (${expression}) { observer.disconnect(); resolve(true) } }
      const observer = new MutationObserver(check)
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
      check()
    })`
    for (;;) {
      const loaded = new Promise<'loaded'>((resolve) => {
        this.#onLoad = () => resolve('loaded')
      })
      // A page that is left does not answer.
      if ((await Promise.race([this.evaluate(watch).catch(() => loaded), loaded])) !== 'loaded') return
    }
  }

  /** Clicks in the middle of an element, as a mouse does. */
  async click(selector: string): Promise<void> {
    const element = await this.#find(selector)
    const origin = { type: 'element', element }
    await this.#perform({
      type: 'pointer',
      id: 'mouse',
      actions: [
        { type: 'pointerMove', x: 0, y: 0, origin },
        { type: 'pointerDown', button: 0 },
        { type: 'pointerUp', button: 0 },
      ],
    })
  }

  /** Types into what has the focus. */
  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ])
    await this.#perform({ type: 'key', id: 'keyboard', actions })
  }

  /** Chooses files in a file input. */
  async chooseFiles(selector: string, files: string[]): Promise<void> {
    const element = await this.#find(selector)
    await this.#send('input.setFiles', { context: this.#context, element, files })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#socket.close()
    this.#process.kill()
    await ended
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 })
  }

  async #find(selector: string): Promise<{ sharedId: unknown }> {
    await this.waitFor(`document.querySelector(${JSON.stringify(selector)})`)
    const expression = `{ const found = document.querySelector(${JSON.stringify(selector)}); found.scrollIntoView({ block: 'center' }); found }`
    const { sharedId } = (await this.evaluate(expression)) as { sharedId: unknown }
    return { sharedId }
  }

  async #perform(source: object): Promise<void> {
    await this.#send('input.performActions', { context: this.#context, actions: [source] })
  }

  async #send(method: string, params: object): Promise<Record<string, unknown>> {
    this.#lastId += 1
    const id = this.#lastId
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve))
    this.#socket.send(JSON.stringify({ id, method, params }))
    const { error, message, result = {} } = await answered
    if (error !== undefined) throw new Error(`${method}: ${error} ${message}`)
    return result
  }

  #receive(answer: Answer): void {
    if (answer.id !== undefined) {
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    } else if (answer.method === 'browsingContext.load') {
      this.#onLoad()
    } else if (answer.method === 'log.entryAdded' && answer.params?.level === 'error') {
      this.complaints.push(String(answer.params.text))
    }
  }
}

interface Answer {
  id?: number
  error?: string
  message?: string
  result?: Record<string, unknown>
  method?: string
  params?: Record<string, unknown>
}

const PREFERENCES: [name: string, value: string][] = [
  ['network.dns.localDomains', '""'],
  ['network.proxy.type', '0'],
  ['app.update.enabled', 'false'],
  ['datareporting.policy.dataSubmissionEnabled', 'false'],
  ['browser.shell.checkDefaultBrowser', 'false'],
  ['intl.accept_languages', '"en-GB"'],
]

/** The address that Firefox prints when it accepts connections. */
async function readAddress(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const [, address] = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(line) ?? []
    if (address !== undefined) return address
  }
  throw new Error('Firefox ended before it accepted a connection')
}
