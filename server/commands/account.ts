import { COMMAND_LINE } from '../store/tables/audit.ts'
import { setPlan } from './account-plan.ts'
import { type Action, runAction } from './actions.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'
import { readOptions, requireReason } from './options.ts'

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

async function setAdministrator(context: CommandContext, args: string[]): Promise<number> {
  const [email, ...others] = args.filter((one) => one !== '--remove')
  if (!email || others.length > 0)
    throw new UsageError('account admin needs an email address, and --remove to end the administration.')
  const isAdministrator = !args.includes('--remove')
  await using data = await context.openData()
  await data.administrators.setByEmail(email, isAdministrator)
  context.print(`${email} ${isAdministrator ? 'administers' : 'does not administer'} the service.`)
  return 0
}

const EMAIL = { operands: ['an email address'] }

async function suspend(...[context, args]: Parameters<Action>): Promise<number> {
  const takes = ['reason', 'public-reason', 'note', 'json'] as const
  const { values, options } = readOptions('account suspend', args, { takes, ...EMAIL })
  const { 'public-reason': publicReason, note } = options
  const reason = requireReason('account suspend', options)
  await using data = await context.openData()
  const email = await data.suspensions.suspendAccount(COMMAND_LINE, values[0]!, {
    reason,
    publicReason,
    note,
  })
  context.print(options.json ? JSON.stringify({ email }) : `${email} is suspended, with all of its sites.`)
  return 0
}

async function resume(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('account resume', args, { takes: ['json'], ...EMAIL })
  await using data = await context.openData()
  const email = await data.suspensions.resumeAccount(COMMAND_LINE, values[0]!)
  context.print(options.json ? JSON.stringify({ email }) : `${email} is not suspended.`)
  return 0
}

async function remove(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('account delete', args, { takes: ['reason', 'json'], ...EMAIL })
  const reason = requireReason('account delete', options)
  await using data = await context.openData()
  const email = await data.removals.deleteAccount(COMMAND_LINE, values[0]!, reason)
  context.print(options.json ? JSON.stringify({ email }) : `${email} is deleted, with all of its sites.`)
  return 0
}
