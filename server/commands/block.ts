import { COMMAND_LINE } from '../store/tables/administration.ts'
import type { BlockKind } from '../store/tables/moderation.ts'
import { type Action, dataAction, runAction } from './actions.ts'
import type { Command } from './command.ts'

const OPERAND: Record<BlockKind, string> = { network: 'a network', hash: 'a SHA-256' }

export const block: Command = {
  usage: [
    [
      'block network add NETWORK --reason TEXT',
      'refuse publishing and the API to a network, such as 192.0.2.0/24; also --for TIME, --force',
    ],
    [
      'block hash add SHA256 --reason TEXT',
      'stop serving and accepting a file, wherever it is published; also --for TIME',
    ],
    ['block network|hash remove VALUE', 'end a block'],
    ['block network|hash list', 'list the blocks'],
  ],
  run: runAction('block', {
    network: runAction('block network', actions('network')),
    hash: runAction('block hash', actions('hash')),
  }),
}

function actions(kind: BlockKind): Record<string, Action> {
  const operands = [OPERAND[kind]]
  const takes = ['reason', 'for', ...(kind === 'network' ? (['force'] as const) : [])] as const
  return {
    add: dataAction(`block ${kind} add`, { takes, operands }, async (data, { options, ...given }) => {
      const { force = false } = options
      const added = await data.blocks.add(COMMAND_LINE, { kind, ...given, force })
      return [added, `${added.value} is blocked.`]
    }),
    remove: dataAction(`block ${kind} remove`, { operands }, async (data, { value }) => [
      await data.blocks.remove(COMMAND_LINE, { kind, value }),
      `${value} is not blocked.`,
    ]),
    list: dataAction(`block ${kind} list`, {}, async (data) => {
      const blocks = (await data.blocks.list()).filter((one) => one.kind === kind)
      const lines = blocks.map(
        ({ value, expiresAt, reason }) => `${value}  ${expiresAt ?? 'no end'}  ${reason}`,
      )
      return [{ blocks }, lines]
    }),
  }
}
