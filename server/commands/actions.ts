import { formatAlternatives } from '../../protocol/format.ts'
import { type CommandContext, UsageError } from './command.ts'

/** Runs an action with its arguments; returns the exit code. */
export type Action = (context: CommandContext, args: string[]) => Promise<number>

/** Runs the action of a command that the first argument names. UsageError without one, and for an unknown name. */
export function runAction(
  command: string,
  actions: Record<string, Action>,
): (context: CommandContext, args: string[]) => Promise<number> {
  return async (context, [verb, ...args]) => {
    const names = Object.keys(actions)
    if (verb === undefined) throw new UsageError(`${command} needs a command: ${formatAlternatives(names)}.`)
    if (!Object.hasOwn(actions, verb)) {
      const usable = formatAlternatives(names.map((name) => `${command} ${name}`))
      throw new UsageError(`Unknown command: ${command} ${verb}. Use ${usable}.`)
    }
    return actions[verb]!(context, args)
  }
}
