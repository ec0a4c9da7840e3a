import { watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from './daemon.ts'
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
  const daemon = started.use(
    await startDaemon({
      name: 'aiosmtpd',
      ports: 1,
      async prepare(folder, [port]) {
        const handler = ['-c', 'aiosmtpd.handlers.Mailbox', join(folder, 'mailbox')]
        return ['-n', '-u', '-d', '-l', `127.0.0.1:${port}`, ...handler]
      },
      isReady: (line) => line.includes('Server is listening'),
    }),
  )
  const letters = watchLetters(started, join(daemon.folder, 'mailbox/new'))
  const owned = started.move()
  const url = `smtp://127.0.0.1:${daemon.ports[0]}`
  return { url, letters, [Symbol.asyncDispose]: () => owned.disposeAsync() }
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
