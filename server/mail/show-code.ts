import { stripControlChars } from '../../protocol/format.ts'

/** Shows a sign-in code to the operator, where no mail server is configured. */
export type ShowCode = (code: { email: string; code: string }) => void

/** A box for a terminal; otherwise one plain line, which is no part of a JSON log. */
export function formatCode({ email, code }: { email: string; code: string }, isTerminal: boolean): string {
  const line = stripControlChars(`Sign-in code for ${email}: ${code}`)
  if (!isTerminal) return `${line}\n`
  const edge = '─'.repeat(line.length + 4)
  return `\n  ┌${edge}┐\n  │  ${line}  │\n  └${edge}┘\n\n`
}
