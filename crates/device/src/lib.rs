//! Cards and their back ends: visibility, capture errors, telemetry
