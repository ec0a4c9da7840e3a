import { render } from 'preact'
import { Frame } from './app/frame.tsx'

render(<Frame />, document.getElementById('app')!)
