import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { storageFailure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Mail } from './mail.ts'

/** Mail that becomes an `.eml` file for each letter, with its code in the log: for machines without a mail server. */
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
        throw storageFailure(error) ?? error
      }
      options.log.info('a letter was written to a file', { to: letter.to, ...(code ? { code } : {}), file })
    },
  }
}
