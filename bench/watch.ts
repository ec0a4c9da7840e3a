import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { Slipway } from '../client/sdk/slipway.ts'
import { newestCode } from '../test/support/service.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { writeSite } from './publish.ts'
import { makeContent } from './publish-flow.ts'
import { ROOT, scratchFolder, startServer } from './server-process.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 30
/** More than the minimum interval of two publishes. */
const PAUSE_MS = 400

/** The time between a change of a file and the page that shows it. */
export const watching: Measurement = {
  name: 'watch',
  means: '1,000 files of 10 kB that slipway publish --watch keeps on a preview; one file of 10 kB is written',
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const data = join(scratch.path, 'data')
    const settings = { RATE_FREE: '1000000' }
    await using server = await startServer(data, { settings })
    const key = await signIn(server.baseUrl, data)
    const folder = join(scratch.path, 'site')
    writeSite(folder, makeContent(FILES, BYTES))
    await using watcher = await startWatcher(folder, server.baseUrl, key)
    const [visible, reloaded]: [number[], number[]] = [[], []]
    for (let round = 0; round <= (quick ? 5 : ROUNDS); round++) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const page = await fetchPage(watcher.url, '/')
      const version = /reload\.js\?version=(\w+)/.exec(page)![1]!
      const answered = fetchPage(watcher.url, `/_slipway/reload?version=${version}`).then(() =>
        performance.now(),
      )
      const text = `<!doctype html><title>${round}</title>`.padEnd(BYTES, '-')
      const started = performance.now()
      writeFileSync(join(folder, 'index.html'), text)
      const changedAt = await answered
      const shown = await fetchPage(watcher.url, '/')
      if (!shown.startsWith(text)) throw new Error('the page does not have the change')
      if (round === 0) continue
      reloaded.push(changedAt - started)
      visible.push(performance.now() - started)
    }
    return figures(visible, reloaded)
  },
}

function figures(visible: number[], reloaded: number[]): Figure[] {
  return [
    figure('from the change of a file to the answer to an open page', 'ms', reloaded),
    figure('from the change of a file to the page with it', 'ms', visible, 100),
  ]
}

/** The key of an account on a server whose emails are in the data folder. */
export async function signIn(baseUrl: string, data: string): Promise<string> {
  const client = new Slipway({ baseUrl })
  const email = 'bench@example.test'
  await client.requestCode(email)
  return (await client.verifyCode(email, await newestCode(join(data, 'mail'), email))).apiKey
}

/** The command, once it watches; its URL. */
async function startWatcher(
  folder: string,
  baseUrl: string,
  key: string,
): Promise<AsyncDisposable & { url: URL }> {
  const args = ['publish', folder, '--watch', '--preview', 'bench', '--server', baseUrl]
  const child = spawn(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'client/bin/slipway.js'), ...args], {
    cwd: join(folder, '..'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SLIPWAY_KEY: key, SLIPWAY_URL: baseUrl },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const watches = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      stderr += chunk
      if (stderr.includes('Watching')) resolve()
    })
    child.once('exit', () => reject(new Error(stderr)))
  })
  await watches
  return {
    url: new URL(stdout.trim()),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
    },
  }
}

/** Names below localhost need not resolve. */
function fetchPage({ host, port }: URL, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, path, headers: { host } }, async (response) => {
        resolve(Buffer.concat(await Array.fromAsync<Buffer>(response)).toString())
      })
      .on('error', reject)
  })
}
