import type { Exceptions, Limits, LimitsChange } from '../../protocol/api/account.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { LIMIT_SETTINGS } from '../config/plan-settings.ts'
import { readValue } from '../config/setting-types.ts'
import { type Command, type CommandContext, print, UsageError } from './command.ts'

export const account: Command = {
  usage: [
    [
      'account plan EMAIL PLAN',
      'set the plan of an account: free, hobby or one of SLIPWAY_PLANS; with --sites N, --bytes SIZE and other limits as exceptions',
    ],
    ['account admin EMAIL', 'let an account administer the service at /admin; with --remove, no longer'],
  ],
  run: changeAccount,
}

const ACTIONS: Record<string, (context: CommandContext, args: string[]) => Promise<number>> = {
  plan: setPlan,
  admin: setAdministrator,
}

async function changeAccount(context: CommandContext, [verb, ...args]: string[]): Promise<number> {
  const names = Object.keys(ACTIONS)
  if (verb === undefined) throw new UsageError(`account needs a command: ${formatAlternatives(names)}.`)
  if (!Object.hasOwn(ACTIONS, verb)) {
    const usable = formatAlternatives(names.map((name) => `account ${name}`))
    throw new UsageError(`Unknown command: account ${verb}. Use ${usable}.`)
  }
  return ACTIONS[verb]!(context, args)
}

async function setAdministrator(context: CommandContext, args: string[]): Promise<number> {
  const [email, ...others] = args.filter((one) => one !== '--remove')
  if (!email || others.length > 0)
    throw new UsageError('account admin needs an email address, and --remove to end the administration.')
  const isAdministrator = !args.includes('--remove')
  await using data = await context.openData()
  await data.administrators.setByEmail(email, isAdministrator)
  print(`${email} ${isAdministrator ? 'administers' : 'does not administer'} the service.`)
  return 0
}

async function setPlan(context: CommandContext, args: string[]): Promise<number> {
  const { plans } = context.config
  const known = Object.entries(plans).map(([id, { name }]) => `${id} (displayed as "${name}")`)
  const [email, plan, ...options] = args
  if (!email || !plan)
    throw new UsageError(`account plan needs an email address and a plan: ${formatAlternatives(known)}.`)
  if (!Object.hasOwn(plans, plan))
    throw new UsageError(`Unknown plan: ${plan}. Use ${formatAlternatives(known)}.`)
  const change = readLimits(options)
  await using data = await context.openData()
  const limits = await data.accounts.setPlan(email, plan, change)
  print(`${email} is on the plan ${plan} (displayed as "${plans[plan]!.name}").`)
  for (const [limit, value] of Object.entries(limits)) print(`Exception: ${toOption(limit)} ${value}`)
  return 0
}

/** Options such as `--bytes 500GB`; the value `plan` ends an exception. */
function readLimits(options: string[]): LimitsChange {
  const change: LimitsChange = {}
  for (let at = 0; at < options.length; at += 2) {
    const [option, value] = [options[at]!, options[at + 1]]
    const limit = LIMITS.find((name) => toOption(name) === option)
    if (limit === undefined || !value)
      throw new UsageError(
        `account plan takes ${LIMITS.map(toOption).join(', ')}, each followed by a value, or by plan for that of the plan: ${option}`,
      )
    const setting = { ...LIMIT_SETTINGS[limit], name: option }
    change[limit] = value === 'plan' ? null : readValue(setting, value)
  }
  return change
}

/** Those that exceptions can have: the numbers of versions that are kept are those of the plan. */
const LIMITS = (Object.keys(LIMIT_SETTINGS) as (keyof Limits)[]).filter(
  (name): name is keyof Exceptions => name !== 'versionsKept' && name !== 'draftsKept',
)

/** `--files-per-site` of `filesPerSite`. */
function toOption(limit: string): string {
  return `--${limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
