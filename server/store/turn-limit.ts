import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'

/** How long the statements of a turn of the event loop may take, exceeded by at most one statement. */
const MAX_TURN_MS = 10

/** When the first statement of the current turn began, on the monotonic clock. */
let startedAt: number | undefined

export function beginTurn(): void {
  if (startedAt !== undefined) return
  startedAt = performance.now()
  setImmediate(() => {
    startedAt = undefined
  })
}

/** Lets other work run between synchronous statements: awaiting their results does not return to the event loop. */
export async function endLongTurn(): Promise<void> {
  if (startedAt !== undefined && performance.now() - startedAt >= MAX_TURN_MS) await nextTurn()
}

export const TURN_LIMIT: KyselyPlugin = {
  transformQuery: ({ node }: PluginTransformQueryArgs) => node,

  async transformResult({ result }: PluginTransformResultArgs) {
    await endLongTurn()
    return result
  },
}
