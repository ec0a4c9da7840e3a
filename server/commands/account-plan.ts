import type { LimitsChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { LIMIT_SETTINGS } from '../config/plan-settings.ts'
import { readValue } from '../config/setting-types.ts'
import { COMMAND_LINE } from '../store/tables/audit.ts'
import { type CommandContext, UsageError } from './command.ts'

/** Sets the plan of an account, and exceptions from it. */
export async function setPlan(context: CommandContext, args: string[]): Promise<number> {
  const { plans } = context.config
  const known = Object.entries(plans).map(([id, { name }]) => `${id} (displayed as "${name}")`)
  const [email, plan, ...options] = args
  if (!email || !plan)
    throw new UsageError(`account plan needs an email address and a plan: ${formatAlternatives(known)}.`)
  if (!Object.hasOwn(plans, plan))
    throw new UsageError(`Unknown plan: ${plan}. Use ${formatAlternatives(known)}.`)
  const change = { plan, limits: readLimits(options) }
  await using data = await context.openData()
  const { limits } = await data.accountPlans.setByEmail(COMMAND_LINE, email, change)
  context.print(`${email} is on the plan ${plan} (displayed as "${plans[plan]!.name}").`)
  for (const [limit, value] of Object.entries(limits)) context.print(`Exception: ${toOption(limit)} ${value}`)
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
    const setting = { ...LIMIT_SETTINGS[limit], name: option }
    change[limit] = value === 'plan' ? null : readValue(setting, value)
  }
  return change
}

/** `--files-per-site` of `filesPerSite`. */
function toOption(limit: string): string {
  return `--${limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
