import { type Command, type CommandContext, print, UsageError } from './command.ts'

export const account: Command = {
  usage: [['account plan EMAIL PLAN', 'set the plan of an account: free or hobby']],
  run: changeAccount,
}

async function changeAccount(context: CommandContext, [verb, email, plan]: string[]): Promise<number> {
  const { config } = context
  const names: Record<string, string> = { free: config.planFree, hobby: config.planHobby }
  const plans = Object.entries(names).map(([id, name]) => `${id} (displayed as "${name}")`)
  if (verb === undefined) throw new UsageError('account needs a command: plan.')
  if (verb !== 'plan') throw new UsageError(`Unknown command: account ${verb}. Use account plan.`)
  if (!email || !plan)
    throw new UsageError(`account plan needs an email address and a plan: ${plans.join(' or ')}.`)
  if (plan !== 'free' && plan !== 'hobby')
    throw new UsageError(`Unknown plan: ${plan}. Use ${plans.join(' or ')}.`)
  await using data = await context.openData()
  await data.accounts.setPlan(email, plan)
  print(`${email} is on the plan ${plan} (displayed as "${names[plan]}").`)
  return 0
}
