import { render } from 'preact'
import { AppShell } from './app/frame.tsx'

render(<AppShell />, document.getElementById('app')!)
