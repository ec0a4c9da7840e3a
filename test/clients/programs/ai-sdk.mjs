// @ts-nocheck: its packages are only in the cache of the clients
import { auth, createMCPClient } from '@ai-sdk/mcp'
import { openAuthProvider } from './auth-provider.mjs'

const [, , url, files] = process.argv
const { provider, code, close } = await openAuthProvider()
const connect = () => createMCPClient({ transport: { type: 'http', url, authProvider: provider } })
let client
try {
  client = await connect()
} catch {
  await auth(provider, { serverUrl: url, authorizationCode: await code })
  client = await connect()
}
const { publish_site: publish } = await client.tools()
const result = await publish.execute({ files: JSON.parse(files) }, { toolCallId: '1', messages: [] })
console.log(JSON.stringify(result))
await client.close()
close()
