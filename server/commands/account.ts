import type { LimitsChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import { formatAlternatives, formatUtc, UNLIMITED } from '../../protocol/format.ts'
import { LIMIT_SETTINGS } from '../config/plan-settings.ts'
import { readValue } from '../config/setting-types.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { dataAction, runAction } from './actions.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

const EMAIL = ['an email address']
const SUSPENSION = { takes: ['reason', 'public-reason', 'note'], operands: EMAIL } as const

const suspend = dataAction('account suspend', SUSPENSION, async (data, { value, statement }) => {
  const suspended = await data.suspensions.changeAccount(COMMAND_LINE, value, statement)
  return [suspended, `${suspended.email} is suspended, with all of its sites.`]
})

const resume = dataAction('account resume', { operands: EMAIL }, async (data, { value }) => {
  const resumed = await data.suspensions.changeAccount(COMMAND_LINE, value)
  return [resumed, `${resumed.email} is not suspended.`]
})

const DELETION = { takes: ['reason'], operands: EMAIL } as const

const remove = dataAction('account delete', DELETION, async (data, { value, reason }) => {
  const deleted = await data.removals.deleteAccount(COMMAND_LINE, value, reason)
  return [deleted, `${deleted.email} is deleted, with all of its sites.`]
})

const ADMINISTRATION = { takes: ['remove'], operands: EMAIL } as const

const setAdministrator = dataAction('account admin', ADMINISTRATION, async (data, { value, options }) => {
  const isAdministrator = !options.remove
  await data.administrators.set(COMMAND_LINE, value, isAdministrator)
  const verb = isAdministrator ? 'administers' : 'does not administer'
  return [{ email: value, isAdministrator }, `${value} ${verb} the service.`]
})

export const account: Command = {
  usage: [
    [
      'account plan EMAIL PLAN',
      'set the plan of an account: free, hobby or one of SLIPWAY_PLANS; with --sites N, --bytes SIZE and other limits as exceptions',
    ],
    ['account admin EMAIL', 'let an account administer the service at /admin; with --remove, no longer'],
    [
      'account suspend EMAIL --reason TEXT',
      'take all sites of an account offline, present and future ones; also --public-reason TEXT, --note TEXT',
    ],
    ['account resume EMAIL', 'end the suspension of an account'],
    ['account delete EMAIL --reason TEXT', 'delete an account with all its sites permanently'],
  ],
  run: runAction('account', { plan: setPlan, admin: setAdministrator, suspend, resume, delete: remove }),
}

async function setPlan(context: CommandContext, args: string[]): Promise<number> {
  const { plans } = context.config
  const known = Object.entries(plans).map(([id, { name }]) => `${id} (displayed as "${name}")`)
  const [email, plan, ...options] = args
  if (!email || !plan)
    throw new UsageError(`account plan needs an email address and a plan: ${formatAlternatives(known)}.`)
  if (!Object.hasOwn(plans, plan))
    throw new UsageError(`Unknown plan: ${plan}. Use ${formatAlternatives(known)}.`)
  const change = { plan, limits: readLimits(options) }
  await using data = await context.openData()
  const { limits } = await data.administrators.setPlan(COMMAND_LINE, email, change)
  context.print(`${email} is on the plan ${plan} (displayed as "${plans[plan]!.name}").`)
  for (const [limit, value] of Object.entries(limits))
    context.print(`Exception: ${toOption(limit)} ${value === UNLIMITED ? 'unlimited' : value}`)
  return 0
}

/** Options such as `--bytes 500GB`; the value `plan` ends an exception. */
function readLimits(options: string[]): LimitsChange {
  const change: LimitsChange = {}
  for (let at = 0; at < options.length; at += 2) {
    const [option, value] = [options[at]!, options[at + 1]]
    const limit = EXCEPTIONS.find((name) => toOption(name) === option)
    if (limit === undefined || !value)
      throw new UsageError(
        `account plan takes ${EXCEPTIONS.map(toOption).join(', ')}, each followed by a value, or by plan for that of the plan: ${option}`,
      )
    change[limit] = value === 'plan' ? null : readValue(option, LIMIT_SETTINGS[limit], value)
  }
  return change
}

function toOption(limit: string): string {
  return `--${limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

export const invite: Command = {
  usage: [['invite EMAIL', 'send an invitation to create an account, for 14 days; with --revoke, end it']],
  run: dataAction('invite', { takes: ['revoke'], operands: EMAIL }, async (data, { value, options }) => {
    if (options.revoke)
      return [await data.invitations.revoke(COMMAND_LINE, value), `${value} is no longer invited.`]
    const invited = await data.invitations.invite(COMMAND_LINE, value)
    return [invited, `${value} is invited until ${formatUtc(invited.expiresAt)}.`]
  }),
}
