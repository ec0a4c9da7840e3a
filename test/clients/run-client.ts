import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ContextPool } from '../support/browser.ts'
import { listen } from '../support/listen.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import type { Client } from './clients.ts'

export interface Outcome {
  /** Why the client has not reached an owned site; undefined when it has. */
  failure?: string
}

/** What a client runs with: a new user of a new service, whose browser opens what the client asks for. */
export interface Surroundings {
  /** The address that needs a token. */
  url: string
  baseUrl: string
  /** The folder in which the packages are installed. */
  folder: string
  /** An empty home folder. */
  home: string
  env: NodeJS.ProcessEnv
  /** The API key of the user. */
  key(): Promise<string>
  /** Signs the user in on a page of the service, and allows the program what it asks for. */
  allow(authorizationUrl: string): Promise<void>
}

/** Runs a client from nothing until it has published a site, which must be in the list of the account. */
export async function runClient(client: Client, folder: string): Promise<Outcome> {
  await using service = await startTestService()
  await using browsers = await ContextPool.open('--mute-audio')
  const home = await mkdtemp(join(tmpdir(), 'slipway-client-'))
  const email = 'anna@example.com'
  let failure: Error | undefined
  const allow = (url: string) => allowProgram({ browsers, service, email }, url)
  await using opener = await Opener.start(home, (url) =>
    allow(url).catch((error) => {
      failure = error
    }),
  )
  try {
    const slug = await client.run({
      url: `${service.baseUrl}/mcp/account`,
      baseUrl: service.baseUrl,
      folder,
      home,
      env: opener.environment(folder),
      key: () => service.signIn(email),
      allow,
    })
    const { publishes } = await service.client(await service.signIn(email)).list()
    assert.deepEqual(
      publishes.map((site) => site.slug),
      [slug],
      'the site is not in the list of the account',
    )
    return {}
  } catch (error) {
    throw failure ?? error
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

interface User {
  browsers: ContextPool
  service: RunningService
  email: string
}

async function allowProgram({ browsers, service, email }: User, url: string): Promise<void> {
  await using user = await browsers.visitor({ locale: 'en-GB' })
  const { page } = user
  await page.goto(url)
  await page.getByLabel('Your email address').fill(email)
  await page.getByRole('button', { name: 'Get a sign-in code' }).click()
  await page.getByText(`The code for ${email} expires in`).waitFor()
  await page.getByLabel('Sign-in code').fill(await service.mailedCode(email))
  await page.getByRole('button', { name: 'Allow' }).click()
  // The program answers the last request of the page.
  await page.waitForURL((at) => at.origin !== service.baseUrl)
  await page.waitForLoadState()
}

/** Receives the addresses that programs open in a browser. */
class Opener implements AsyncDisposable {
  readonly #server
  readonly #home: string

  private constructor(home: string, open: (url: string) => Promise<void>) {
    this.#home = home
    this.#server = createServer((request, response) => {
      response.end()
      void open(new URL(request.url!, 'http://localhost').searchParams.get('url')!)
    })
  }

  static async start(home: string, open: (url: string) => Promise<void>): Promise<Opener> {
    const opener = new Opener(home, open)
    const port = await listen(opener.#server)
    const script = `#!${process.execPath}
await fetch('http://127.0.0.1:${port}/?' + new URLSearchParams({ url: process.argv[2] }))
`
    for (const name of ['xdg-open', 'sensible-browser', 'browser.mjs']) {
      await writeFile(join(home, name), script)
      await chmod(join(home, name), 0o755)
    }
    return opener
  }

  /** The environment of a program without settings of the machine. */
  environment(folder: string): NodeJS.ProcessEnv {
    return {
      HOME: this.#home,
      BROWSER: join(this.#home, 'browser.mjs'),
      DISPLAY: ':0',
      LANG: 'C.UTF-8',
      PATH: [this.#home, join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await this.#server[Symbol.asyncDispose]()
  }
}
