// @ts-nocheck: its packages are only in the cache of the clients
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { openAuthProvider } from './auth-provider.mjs'

const [, , url, files] = process.argv
const { provider, code, close } = await openAuthProvider()
const connect = async () => {
  const client = new MultiServerMCPClient({
    mcpServers: { slipway: { transport: 'http', url, authProvider: provider } },
  })
  return { client, tools: await client.getTools() }
}
let connected
try {
  connected = await connect()
} catch {
  await auth(provider, { serverUrl: url, authorizationCode: await code })
  connected = await connect()
}
const publish = connected.tools.find(({ name }) => name === 'publish_site')
console.log(JSON.stringify(await publish.invoke({ files: JSON.parse(files) })))
await connected.client.close()
close()
