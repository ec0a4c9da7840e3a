import { formatUtc } from '../../protocol/format.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { type Command, UsageError } from './command.ts'

export const invite: Command = {
  usage: [['invite EMAIL', 'send an invitation to create an account, for 14 days; with --revoke, end it']],
  async run(context, args) {
    const [email, ...others] = args.filter((one) => one !== '--revoke')
    if (!email || others.length > 0)
      throw new UsageError('invite needs an email address, and --revoke to end it.')
    await using data = await context.openData()
    if (args.includes('--revoke')) {
      await data.invitations.revoke(COMMAND_LINE, email)
      context.print(`${email} is no longer invited.`)
    } else {
      const { expiresAt } = await data.invitations.invite(COMMAND_LINE, email)
      context.print(`${email} is invited until ${formatUtc(expiresAt)}.`)
    }
    return 0
  },
}
