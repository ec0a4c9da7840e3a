import type { ServerReply, ServerRequest } from '../../scripts/server-messages.ts'
import { type SharedServerName, startSharedServer } from './shared-server.ts'

// The process of the servers that a run shares (scripts/shared-servers.ts): starts those that are requested.

// The process that uses the servers has ended: stops them, and deletes their folders (exit.ts).
process.once('disconnect', () => process.exit())

process.on('message', async ({ name }: ServerRequest) => {
  const reply = await startSharedServer(name as SharedServerName).then(
    (address) => ({ address }),
    (error: Error) => ({ error: String(error.stack) }),
  )
  process.send!({ kind: 'server', name, ...reply } satisfies ServerReply)
})
