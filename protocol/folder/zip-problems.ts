const STORED = 0
const DEFLATED = 8

/** Compression methods of APPNOTE 4.4.5 that programs write on request, or for files above 2 GB. */
const METHODS: Record<number, string> = {
  1: 'Shrink',
  6: 'Implode',
  9: 'Deflate64',
  12: 'BZip2',
  14: 'LZMA',
  93: 'Zstandard',
  95: 'XZ',
  98: 'PPMd',
}

/** Why a file of a zip cannot be read, and how to make one that can be; undefined for one that can. */
export function describeUnreadable({
  isEncrypted,
  method,
}: {
  isEncrypted: boolean
  method: number
}): string | undefined {
  if (isEncrypted) return 'is encrypted; create the ZIP without a password'
  if (method === STORED || method === DEFLATED) return undefined
  const name = METHODS[method] ?? `unknown (${method})`
  return `uses ${name} compression; create the ZIP with Deflate, in 7-Zip with -mm=Deflate`
}

interface FileProblem {
  path: string
  problem: string
}

/** One sentence for each cause, which names the first file and the number of others. */
export function groupProblems(problems: readonly FileProblem[]): FileProblem[] {
  return [...Map.groupBy(problems, ({ problem }) => problem)].map(([problem, files]) => {
    const others = files.length - 1
    const like = others === 0 ? '' : ` (like ${others} more)`
    return { path: files[0]!.path, problem: problem.replace(/(?=;)|$/, like) }
  })
}
