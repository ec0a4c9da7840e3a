import { build } from './build.mjs'
import { main } from './unprepared.mjs'

// npm run build: builds the client and the dashboard where they are stale.
await main(build)
