import { prepare } from './prepare.mjs'
import { main } from './setup-error.mjs'

// npm run build: prepares like npm start: builds the client, the dashboard and the API reference where they are stale.
await main(async () => void (await prepare()))
