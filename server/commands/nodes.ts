import { ConfigError } from '../config/settings.ts'
import { formatNodes } from '../operations/fleet/nodes.ts'
import { dataAction } from './actions.ts'
import type { Command } from './command.ts'

const list = dataAction('nodes', {}, async ({ store }) => {
  const [nodes, now] = [await store.read.nodes.list(), store.clock()]
  return [{ now, nodes }, formatNodes(nodes, now)]
})

export const nodes: Command = {
  usage: [['nodes [--json]', 'list the nodes of the database']],
  run(context, args) {
    if (context.config.databaseUrl === '')
      throw new ConfigError('Only the nodes of SLIPWAY_DATABASE_URL are listed')
    return list(context, args)
  },
}
