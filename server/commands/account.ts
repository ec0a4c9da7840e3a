import { formatAlternatives } from '../../protocol/format.ts'
import { type Command, type CommandContext, print, UsageError } from './command.ts'

export const account: Command = {
  usage: [
    ['account plan EMAIL PLAN', 'set the plan of an account: free or hobby'],
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

async function setPlan(context: CommandContext, [email, plan]: string[]): Promise<number> {
  const { config } = context
  const names: Record<string, string> = { free: config.planFree, hobby: config.planHobby }
  const plans = Object.entries(names).map(([id, name]) => `${id} (displayed as "${name}")`)
  if (!email || !plan)
    throw new UsageError(`account plan needs an email address and a plan: ${plans.join(' or ')}.`)
  if (plan !== 'free' && plan !== 'hobby')
    throw new UsageError(`Unknown plan: ${plan}. Use ${plans.join(' or ')}.`)
  await using data = await context.openData()
  await data.accounts.setPlan(email, plan)
  print(`${email} is on the plan ${plan} (displayed as "${names[plan]}").`)
  return 0
}
