// Spheres over a mirror; no include files.
global_settings { max_trace_level 5 }
camera { location <0, 3, -8> look_at <0, 1, 0> }
light_source { <5, 10, -8> color rgb 1 }
plane { y, 0 pigment { checker color rgb 0.9, color rgb 0.2 } finish { reflection 0.4 } }
#declare Row = -3;
#while (Row <= 3)
  #declare Column = -3;
  #while (Column <= 3)
    sphere {
      <Row, 0.5, Column>, 0.45
      pigment { marble turbulence 0.7 color_map { [0 color rgb <0.8, 0.2, 0.2>] [1 color rgb 1] } }
      finish { phong 0.8 reflection 0.2 }
    }
    #declare Column = Column + 1;
  #end
  #declare Row = Row + 1;
#end
