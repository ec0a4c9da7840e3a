import { ConfigError } from '../config/settings.ts'
import { formatNodes } from '../operations/fleet/nodes.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const nodes: Command = {
  usage: [['nodes [--json]', 'list the nodes of the database']],
  run: listNodes,
}

async function listNodes(context: CommandContext, rest: string[]): Promise<number> {
  if (rest.some((one) => one !== '--json')) throw new UsageError(`nodes takes only --json: ${rest.join(' ')}`)
  if (context.config.databaseUrl === '')
    throw new ConfigError('Only the nodes of SLIPWAY_DATABASE_URL are listed')
  await using data = await context.openData()
  const { store } = data
  const nodes = await store.read.nodes.list()
  if (rest.length > 0) context.print(JSON.stringify({ now: store.clock(), nodes }))
  else for (const line of formatNodes(nodes, store.clock())) context.print(line)
  return 0
}
