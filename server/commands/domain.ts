import { COMMAND_LINE } from '../store/tables/administration.ts'
import { type Action, runAction } from './actions.ts'
import type { Command } from './command.ts'
import { readOptions, requireReason } from './options.ts'

export const domain: Command = {
  usage: [['domain release DOMAIN --reason TEXT', 'remove an active domain from its site']],
  run: runAction('domain', { release }),
}

async function release(...[context, args]: Parameters<Action>): Promise<number> {
  const { values, options } = readOptions('domain release', args, {
    takes: ['reason', 'json'],
    operands: ['a domain'],
  })
  const [name = ''] = values
  const reason = requireReason('domain release', options)
  await using data = await context.openData()
  await data.removals.releaseDomain(COMMAND_LINE, name, reason)
  context.print(options.json ? JSON.stringify({ domain: name }) : `${name} is removed from its site.`)
  return 0
}
