import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../packages/files/make-folder.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import type { Email } from '../mail/mail.ts'
import { readOptions, runAction } from './actions.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const mail: Command = {
  usage: [
    [
      'mail preview [KIND]',
      'print the emails with sample data; with --out FOLDER, write .eml and .html files',
    ],
    ['mail test ADDRESS', 'send an email to this address'],
  ],
  run: runAction('mail', { preview, test: sendTest }),
}

async function preview(context: CommandContext, args: string[]): Promise<number> {
  const { values, options } = readOptions('mail preview', args, { takes: ['out'] })
  const [[kind, ...more], folder] = [values, options.out]
  if (more.length > 0) throw new UsageError('mail preview takes a kind of email, and --out FOLDER.')
  const emails = await samples(context)
  const chosen = emails.filter((email) => kind === undefined || email.kind === kind)
  if (chosen.length === 0) {
    const kinds = formatAlternatives(emails.map((email) => email.kind))
    throw new UsageError(`Unknown kind of email: ${kind}. Use ${kinds}.`)
  }
  if (folder === undefined)
    for (const email of chosen) context.print(`Subject: ${email.subject}\n\n${email.text}`)
  else {
    await writeFiles(folder, chosen, context.config.mailFrom)
    context.print(`${chosen.length} emails written to ${folder}`)
  }
  return 0
}

async function samples({ config }: CommandContext): Promise<Email[]> {
  const { sampleEmails } = await import('../operations/notices/samples.ts')
  const to = 'ann@example.com'
  return sampleEmails({ to, ...(await letterhead(config)), now: Date.now() })
}

async function letterhead({ baseUrl, port, siteDomain, branding }: CommandContext['config']) {
  const { UrlBuilder } = await import('../sites/urls.ts')
  const addresses = new UrlBuilder({ baseUrl: baseUrl || `http://localhost:${port}`, siteDomain })
  return { addresses, branding }
}

async function writeFiles(folder: string, emails: readonly Email[], from: string): Promise<void> {
  const { buildMessage } = await import('../mail/mail.ts')
  makeFolder(folder)
  for (const email of emails) {
    await writeFile(join(folder, `${email.kind}.eml`), await buildMessage(email, from))
    await writeFile(join(folder, `${email.kind}.html`), email.html)
  }
}

async function sendTest(context: CommandContext, [to, ...more]: string[]): Promise<number> {
  if (to === undefined || more.length > 0) throw new UsageError('mail test needs one email address.')
  context.print(await sendTestEmail(context, to))
  return 0
}

export async function sendTestEmail({ config, log }: CommandContext, to: string): Promise<string> {
  const { readEmail } = await import('../accounts/email-address.ts')
  const { testEmail } = await import('../operations/notices/samples.ts')
  const { openMail } = await import('../backends.ts')
  const engine = openMail(config, { log, showCode: () => undefined, clock: Date.now })
  await engine.send(testEmail({ to: readEmail(to), ...(await letterhead(config)) }))
  return engine.delivery === 'email'
    ? `The mail server has accepted an email to ${to}. Look whether it arrives, and not among spam.`
    : `SLIPWAY_SMTP_URL is not set: the email was written to ${join(config.data, 'mail')}.`
}
