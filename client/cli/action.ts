import { findNearest } from '../../protocol/nearest.ts'
import { UsageError } from './cli-error.ts'
import type { CommandContext, OptionValues } from './command.ts'

/** One of the actions of a command such as `domains add`, with its operand. */
export type Action = (
  work: CommandContext,
  options: OptionValues,
  operand: string | undefined,
) => Promise<void>

/**
 * The action of this name. Throws a UsageError with a suggestion: `add` for a word that `operand` matches, if given, else
 * the nearest name.
 */
export function findAction<One = Action>(
  actions: Record<string, One>,
  name: string,
  { command, program, operand }: { command: string; program: string; operand?: RegExp },
): One {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action) return action
  const typed = name
  const near = operand?.test(name) ? `add ${typed}` : findNearest(name, Object.keys(actions))
  const hints = near === undefined ? [] : [`Did you mean: ${program} ${command} ${near}`]
  throw new UsageError(`Unknown action "${typed}"`, ...hints, `See: ${program} help ${command}`)
}
