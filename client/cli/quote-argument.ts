/** An argument as a shell reads it. */
export function quoteArgument(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
