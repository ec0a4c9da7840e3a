import type { PostgresClient } from './client.ts'

const CHECK_INTERVAL_MS = 5000

/** How long the connection to a pooler is kept, whose process at the server is not known. */
const MAX_UNKNOWN_MS = 60_000

/** Resolves at the answer to the commit, or when the server no longer has the connection: it may end without a word. */
export async function untilAnswered(
  client: PostgresClient,
  hasProcess: (id: number) => Promise<boolean>,
): Promise<void> {
  const since = performance.now()
  const check = async () => {
    const { processId } = client
    const isGone =
      processId === undefined ? performance.now() - since > MAX_UNKNOWN_MS : !(await hasProcess(processId))
    if (isGone) client.destroy()
  }
  const timer = setInterval(() => void check().catch(() => undefined), CHECK_INTERVAL_MS)
  timer.unref()
  await client.unanswered
  clearInterval(timer)
}
