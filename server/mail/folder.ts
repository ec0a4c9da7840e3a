import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../packages/files/make-folder.ts'
import type { Ballast } from '../blobs/disk-reserve.ts'
import { toStorageError } from '../lib/errors.ts'
import { type Log, maskEmail } from '../lib/log.ts'
import { buildMessage, type Mail, type ShowCode } from './mail.ts'

interface FolderMailOptions {
  folder: string
  from: string
  log: Log
  showCode: ShowCode
  clock: () => number
  /** Space for emails on a full disk. */
  ballast?: Pick<Ballast, 'retry'> | undefined
}

/** Newest ones that are kept, about 4 MB: requests for codes must not use up the disk. */
const MAX_EMAILS = 1000

/** Stores each email as an `.eml` file and shows its code to the operator: for machines without a mail server. */
export function folderMail(options: FolderMailOptions): Mail {
  const { ballast } = options
  let emails = 0
  return {
    delivery: 'log',
    async send(email) {
      const { code, kind } = email
      const message = await buildMessage(email, options.from)
      const time = new Date(options.clock()).toISOString().replaceAll(':', '-')
      const file = join(options.folder, `${time}-${process.pid}-${++emails}.eml`)
      const write = async () => {
        makeFolder(options.folder, 0o700)
        const earlier = (await readdir(options.folder)).filter((name) => name.endsWith('.eml')).sort()
        for (const name of earlier.slice(0, 1 - MAX_EMAILS))
          await rm(join(options.folder, name), { force: true })
        await writeFile(file, message, { mode: 0o600 })
      }
      try {
        await (ballast ? ballast.retry(write, (error) => toStorageError(error) !== undefined) : write())
      } catch (error) {
        throw toStorageError(error) ?? error
      }
      options.log.info('email written to a file', { kind, to: maskEmail(email.to), file })
      if (code) options.showCode({ email: email.to, code })
    },
  }
}
