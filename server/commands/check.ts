import { type Command, type CommandContext, print, UsageError } from './command.ts'

export const check: Command = {
  usage: [['check [--nodes N] [--json]', 'check what the settings need: database, bucket, mail, DNS']],
  run: runChecks,
}

/** As few as tolerate the outage of one. */
const DEFAULT_MACHINES = 2

const CHECK_MARKS = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ' }

/** Exit code 1 when something that the service needs is missing. */
async function runChecks({ config }: CommandContext, rest: string[]): Promise<number> {
  const options = parseCheckOptions(rest)
  const { checkService } = await import('../backends.ts')
  const checks = await checkService(config, options.machines)
  const isRight = checks.every(({ status }) => status !== 'failed')
  if (options.json) print(JSON.stringify({ ok: isRight, checks }))
  else for (const { name, status, message } of checks) print(`${CHECK_MARKS[status]} ${name}: ${message}`)
  return isRight ? 0 : 1
}

function parseCheckOptions(args: string[]): { machines: number; json: boolean } {
  const [json, rest] = [args.includes('--json'), args.filter((one) => one !== '--json')]
  if (rest.length === 0) return { machines: DEFAULT_MACHINES, json }
  const [name, count, ...more] = rest
  if (name !== '--nodes' || more.length > 0)
    throw new UsageError(`check takes --nodes N and --json: ${rest.join(' ')}`)
  if (!/^[1-9]\d{0,4}$/.test(count ?? '')) throw new UsageError('--nodes needs a number of machines.')
  return { machines: Number(count), json }
}
