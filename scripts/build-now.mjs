import { build } from './build.mjs'
import { main } from './setup-error.mjs'

// npm run build: builds the client, the dashboard and the API reference where they are stale.
await main(build)
