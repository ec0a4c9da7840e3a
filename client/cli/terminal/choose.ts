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
