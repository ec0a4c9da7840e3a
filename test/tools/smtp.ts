import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type ReadLetter, readLetter } from './letter.ts'

export interface SmtpServer extends AsyncDisposable {
  /** Value of SLIPWAY_SMTP_URL. */
  url: string
  /** Messages received since the last call, oldest first; waits for at least one. */
  letters(): Promise<ReadLetter[]>
}

/** Starts a real mail server (aiosmtpd; tests use `requires('smtp')`) on a free port. */
export async function startSmtp(): Promise<SmtpServer> {
  await using started = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'slipway-smtp-'))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const mailbox = join(folder, 'mailbox')
  const port = await runServer(started, mailbox)
  const letters = watchLetters(started, join(mailbox, 'new'))
  const owned = started.move()
  return { url: `smtp://127.0.0.1:${port}`, letters, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function runServer(started: AsyncDisposableStack, mailbox: string): Promise<number> {
  const handler = ['-c', 'aiosmtpd.handlers.Mailbox', mailbox]
  const child = spawn('aiosmtpd', ['-n', '-u', '-d', '-d', '-l', '127.0.0.1:0', ...handler], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  started.defer(async () => {
    child.kill()
    await ended
  })
  const output: string[] = []
  // This debug level logs the assigned port, and then that it listens.
  for await (const line of createInterface({ input: child.stderr })) {
    output.push(line)
    if (line.includes('Server is listening')) break
  }
  child.stderr.resume()
  const port = output.join('\n').match(/laddr=\('127\.0\.0\.1', (\d+)\)/)?.[1]
  if (port === undefined) throw new Error(`aiosmtpd did not start:\n${output.join('\n')}`)
  return Number(port)
}

function watchLetters(started: AsyncDisposableStack, folder: string): () => Promise<ReadLetter[]> {
  let change = Promise.withResolvers<void>()
  const watcher = watch(folder, () => {
    change.resolve()
    change = Promise.withResolvers()
  })
  started.defer(() => watcher.close())
  const known = new Set<string>()
  return async () => {
    for (;;) {
      const next = change.promise
      const fresh = (await readdir(folder)).filter((name) => !known.has(name))
      for (const name of fresh) known.add(name)
      // Maildir names begin with the time of arrival, in numbers of any width.
      fresh.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
      if (fresh.length > 0) {
        return Promise.all(fresh.map(async (name) => readLetter(await readFile(join(folder, name), 'utf8'))))
      }
      await next
    }
  }
}
