/**
 * An argument as a shell reads it. On Windows, where cmd and PowerShell quote in different ways, a text that both would not
 * read as it is becomes an ellipsis.
 */
export function quoteArgument(text: string, platform: string = process.platform): string {
  if (/^[\w./:@-]+$/.test(text)) return text
  if (platform !== 'win32') return `'${text.replaceAll("'", "'\\''")}'`
  return /^[\p{L}\p{N} \\./:@_-]*$/u.test(text) ? `"${text}"` : '…'
}
