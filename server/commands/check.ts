import { readEmail } from '../accounts/email-address.ts'
import { ConfigError } from '../config/settings.ts'
import type { CheckResult } from '../operations/check/check-result.ts'
import { readOptions } from './actions.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const check: Command = {
  usage: [
    [
      'check [--mail ADDRESS]',
      'check what the settings need: ports, disk, database, bucket, mail, DNS, certificate authority, proxies; --mail sends an email; also --nodes N, --json',
    ],
  ],
  run: runChecks,
}

/** As few as tolerate the outage of one. */
const DEFAULT_MACHINES = 2

const CHECK_MARKS = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ' }

interface CheckArguments {
  machines: number
  json: boolean
  mail: string | undefined
}

/** Exit code 1 when something that the service needs is missing. */
async function runChecks(context: CommandContext, rest: string[]): Promise<number> {
  const options = parseCheckOptions(rest)
  const checks = await runAll(context, options)
  const isRight = checks.every(({ status }) => status !== 'failed')
  if (options.json) context.print(JSON.stringify({ ok: isRight, checks }))
  else
    for (const { name, status, message } of checks)
      context.print(`${CHECK_MARKS[status]} ${name}: ${message}`)
  return isRight ? 0 : 1
}

async function runAll(context: CommandContext, { machines, mail }: CheckArguments): Promise<CheckResult[]> {
  try {
    const { config, log, version, deadlines } = context
    const { checkService } = await import('../backends.ts')
    const { sendTestEmail } = await import('./mail.ts')
    const sendMail = mail === undefined ? undefined : () => sendTestEmail(context, mail)
    return await checkService(config, { log, machines, version, deadlines, sendMail })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
      .split('\n')
      .map((message): CheckResult => ({ name: 'settings', status: 'failed', message }))
  }
}

function parseCheckOptions(args: string[]): CheckArguments {
  const takes = ['mail', 'nodes', 'json'] as const
  const { options } = readOptions('check', args, { takes, operands: [] })
  const { mail, nodes = String(DEFAULT_MACHINES), json = false } = options
  if (!/^[1-9]\d{0,4}$/.test(nodes)) throw new UsageError('--nodes needs a number of machines.')
  return { machines: Number(nodes), json, mail: mail === undefined ? undefined : readEmail(mail) }
}
