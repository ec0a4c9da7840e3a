import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toStorageError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Mail } from './mail.ts'

/**
 * Stores each message as an `.eml` file and prints its code in the log: for machines without a mail server.
 */
export function folderMail(options: { folder: string; from: string; log: Log; clock: () => number }): Mail {
  let letters = 0
  return {
    async send({ code, ...letter }) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true })
      const { message } = await transport.sendMail({ from: options.from, ...letter })
      const time = new Date(options.clock()).toISOString().replaceAll(':', '-')
      const file = join(options.folder, `${time}-${process.pid}-${++letters}.eml`)
      try {
        await mkdir(options.folder, { recursive: true, mode: 0o700 })
        await writeFile(file, message as Buffer, { mode: 0o600 })
      } catch (error) {
        throw toStorageError(error) ?? error
      }
      options.log.info('message written to a file', { to: letter.to, ...(code ? { code } : {}), file })
    },
  }
}
