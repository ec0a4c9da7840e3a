import { RefusedError, UsageError } from '../cli-error.ts'
import type { Terminal } from './terminal.ts'

/** Asks which of these to do until a number of the list is entered. Rejects at the end of input. */
export async function choose<Key extends string>(
  terminal: Pick<Terminal, 'printNote' | 'prompt'>,
  question: string,
  choices: [key: Key, label: string][],
): Promise<Key> {
  terminal.printNote(question)
  for (const [index, [, label]] of choices.entries()) terminal.printNote(`  ${index + 1}  ${label}`)
  for (;;) {
    const chosen = choices[Number(await terminal.prompt('Enter a number:')) - 1]
    if (chosen) return chosen[0]
  }
}

/** Asks a question to which the default answer is yes. */
export async function confirm(terminal: Pick<Terminal, 'prompt'>, question: string): Promise<boolean> {
  return /^(y|yes|)$/i.test(await terminal.prompt(`${question} [Y/n]`))
}

/** Asks a question to which the default answer is no. */
export async function confirmRisk(terminal: Pick<Terminal, 'prompt'>, question: string): Promise<boolean> {
  return /^(y|yes)$/i.test(await terminal.prompt(`${question} [y/N]`))
}

/** Asks before something is deleted that can be restored. Throws a UsageError without a terminal, and a RefusedError after a no. */
export async function confirmDeletion(
  terminal: Pick<Terminal, 'interactive' | 'prompt'>,
  consequence: string,
): Promise<void> {
  assertInteractive(terminal, consequence)
  if (!(await confirmRisk(terminal, `${consequence} Continue?`)))
    throw new RefusedError('Nothing was deleted')
}

/**
 * Asks to type a name before something is deleted permanently. Throws a UsageError without a terminal, and a RefusedError
 * for another name.
 */
export async function confirmByName(
  terminal: Pick<Terminal, 'interactive' | 'prompt'>,
  name: string,
  consequence: string,
): Promise<void> {
  assertInteractive(terminal, consequence)
  const typed = await terminal.prompt(`${consequence} Type its name to confirm:`)
  if (typed !== name) throw new RefusedError("The name doesn't match. Nothing was deleted.")
}

function assertInteractive({ interactive }: Pick<Terminal, 'interactive'>, consequence: string): void {
  if (interactive) return
  const situation = "Confirmation required, but this isn't an interactive terminal"
  throw new UsageError(`${consequence} ${situation}`, 'Pass --yes')
}
