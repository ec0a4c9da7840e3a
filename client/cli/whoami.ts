import type { Me } from '../../protocol/api/account.schema.ts'
import {
  formatBytes,
  formatLimit,
  formatNumber,
  formatUtc,
  pluralize,
  UNLIMITED,
} from '../../protocol/format.ts'
import { accountClient, resolveServer } from './account.ts'
import { type Command, JSON_OPTION, printResult, SERVER_OPTION } from './command.ts'

/** `slipway whoami` */
export const whoami: Command = {
  name: 'whoami',
  operands: '',
  summary: 'Show the account you are signed in to',
  about: 'Prints the email address of your account, and its server and usage.',
  options: { json: JSON_OPTION, server: SERVER_OPTION },
  async run(work, options) {
    const { terminal } = work
    const server = resolveServer(work, options)
    const me = await accountClient(work, options, server).me()
    printResult(work, options, { server, ...me }, () => {
      terminal.print(me.email)
      terminal.printNote(`${server} · ${formatUsage(me)}`)
      if (me.key) terminal.printNote(formatKey(me.key))
    })
  },
}

function formatKey({ name, scope, sites, expiresAt }: NonNullable<Me['key']>): string {
  const parts = [
    `Key ${name}`,
    `scope ${scope}`,
    ...(sites === null ? [] : [`only ${sites.join(', ')}`]),
    ...(expiresAt === null ? [] : [`until ${formatUtc(expiresAt)}`]),
  ]
  return parts.join(' · ')
}

function formatUsage({
  usage: { requestsThisHour, heldBytes },
  limits: { requestsPerHour, bytes },
}: Me): string {
  const requests =
    requestsPerHour >= UNLIMITED
      ? `${pluralize(requestsThisHour, 'request')} this hour, no limit`
      : `${formatNumber(requestsThisHour)} of ${pluralize(requestsPerHour, 'request')} used this hour`
  return `${requests} · ${formatBytes(heldBytes)} ${bytes >= UNLIMITED ? 'stored' : `of ${formatLimit(bytes)} stored`}`
}
